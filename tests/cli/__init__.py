"""Tests of the command line and the full screen."""
