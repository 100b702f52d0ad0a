"""What tests share: servers, stores, clients and finished races."""
