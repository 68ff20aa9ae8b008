package pull

import "errors"

// ErrExists means that a branch has an open pull request already.
var ErrExists = errors.New("the branch has an open pull request already")

// ErrUnchecked means that a server does not know yet whether a pull request can be merged; the same
// call may succeed soon.
var ErrUnchecked = errors.New("the server has not found out yet whether it can be merged")

// ErrMergeQueue means that only a merge queue merges to base.
var ErrMergeQueue = errors.New("base is merged to by a merge queue")
