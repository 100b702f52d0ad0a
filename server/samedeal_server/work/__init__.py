"""Computations in bounded processes beside the server."""
