# SPDX-License-Identifier: Apache-2.0
"""The readable NumPy float64 statement of every op, under the same name. The fast ones are held to it."""

from .flow import flow_channels, parallax_split

__all__ = ["flow_channels", "parallax_split"]
