"""What people share of a race: a line of text and a picture. Neither reveals anything about a deal that is secret."""
