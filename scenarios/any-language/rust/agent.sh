#!/bin/sh
# The agent is compiled beforehand, here in this folder: rustc -O -o agent main.rs
exec ./agent
