"""What is made of a run's JSON: tables, pictures, the page."""
