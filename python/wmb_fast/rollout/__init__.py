# SPDX-License-Identifier: Apache-2.0
"""Rollouts: their frames (video), what they were told (plan, plans, planfile), where they are (discover, manifest) and
the camera paths that come with them (trajectory). Each module stands for itself; nothing is imported here.
"""
