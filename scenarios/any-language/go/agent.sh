#!/bin/sh
# The agent is compiled beforehand, here in this folder: CGO_ENABLED=0 go build -o agent main.go
exec ./agent
