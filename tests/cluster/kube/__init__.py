# SPDX-License-Identifier: Apache-2.0
"""What the cases share: a node, its API, pods, and oomwitness as it is installed there."""
