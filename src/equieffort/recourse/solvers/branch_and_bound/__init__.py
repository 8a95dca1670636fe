"""BranchAndBound: best-first search, proven by bounds over boxes, for sums of trees and for networks."""
