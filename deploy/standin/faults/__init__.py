"""What a stand-in does wrong when told to."""
