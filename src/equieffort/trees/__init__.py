"""Fitted scikit-learn trees are read here, and nowhere else; equations and classifiers make of them what they need."""
