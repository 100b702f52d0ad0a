"""Messages between clients and servers, their encoding, and what each viewer may see."""
