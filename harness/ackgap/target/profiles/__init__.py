"""What a service does and how it treats repeats: values, their TOML form, and what a judge may know of them."""
