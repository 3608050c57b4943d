# SPDX-License-Identifier: Apache-2.0
"""What turns frames into evidence. Only this floor knows OpenCV; it is imported when an estimator starts."""
