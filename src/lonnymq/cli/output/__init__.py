"""How commands print results: tables and sentences for people, JSON documents for programs."""
