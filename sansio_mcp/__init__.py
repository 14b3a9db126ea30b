"""A sans-IO client for the Model Context Protocol over stdio."""
