# SPDX-License-Identifier: Apache-2.0
"""Runs vectors of published evaluators through the public functions: ``python -m wmb_fast.oracles DIR``.

A vector file is JSON of the schema ``wmb-oracle/1``, with its arrays in an npz beside it. Each family of files has one
module here; it gets the inputs of a case, calls public functions, and compares what they return with what the published
evaluator returned, within the file's own tolerance. Nothing a module does may look at ``expected`` to make ``got``.
"""

from .runner import Case, Outcome, run

__all__ = ["Case", "Outcome", "run"]
