"""Makes domain rows: python -m ergo_nli.generate OUT --families DIR --data DIR --eval DIR [--seed N] [--scale X]"""
