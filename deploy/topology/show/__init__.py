"""A topology for people: as text and as a picture."""
