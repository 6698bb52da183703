"""What a campaign leaves behind, as pages."""
