"""Tests of the page, most of them in a real browser."""
