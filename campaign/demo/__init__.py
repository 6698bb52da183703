"""A small real system with a real race, and the campaign that finds it."""
