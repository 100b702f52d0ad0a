"""Test support: servers, stores, clients and finished races."""
