"""Analysis: whether a deal could be won, until when each racer could, and which move to make now."""
