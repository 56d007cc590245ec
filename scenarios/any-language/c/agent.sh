#!/bin/sh
# The agent is compiled beforehand, here in this folder: cc -O2 -o agent agent.c
exec ./agent
