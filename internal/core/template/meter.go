package template

import (
	"strconv"
	"strings"
	"text/template"
	"text/template/parse"
)

// chargeName is the function that meter inserts. A template that calls it does not parse.
const chargeName = "charge"

// meter rewrites the trees of a parsed template so that each block first pays for its nodes, and
// each call of another template for the levels that it adds. It returns the names of the functions
// that are called.
//
// text/template has no hook to stop it, and a goroutine that executes one cannot be killed. So the
// template itself is given a first action in each block, {{ charge nodes scans deeper }}, which
// fails when the budget is spent. A loop pays for its body each time around, since the body is a
// block. The price of a block is known beforehand: all that is executed in it besides nested
// blocks, calls and functions, which pay themselves.
func meter(t *template.Template, text string) (used map[string]bool, err error) {
	m := &metering{used: map[string]bool{}, variables: 2 * strings.Count(text, ":=")}
	for _, t := range t.Templates() {
		if err := m.block(t.Root, 0); err != nil {
			return nil, err
		}
	}
	return m.used, nil
}

// metering is one walk through a parsed template. used has the functions that it calls.
type metering struct {
	used map[string]bool
	// variables are at least as many as are declared; text/template searches through them by name.
	variables int
}

// cost is what a block pays each time that it is executed, without the blocks in it.
type cost struct{ nodes, scans int }

const (
	// unwinding is the cost of a break or continue, which text/template does by a panic.
	unwinding = 10
	// compared is how many names of variables are compared in the time of a step.
	compared = 32
)

// scanning are functions of text/template that may read all of what they are given.
var scanning = map[string]bool{"index": true, "eq": true, "ne": true, "lt": true, "le": true, "gt": true, "ge": true}

// block inserts the charges of one block, and of those in it. level is how deep it is in its own
// template.
func (m *metering) block(list *parse.ListNode, level int) error {
	if list == nil {
		return nil
	}
	if level > maxLevels {
		return errLevels
	}
	c := cost{nodes: 1}
	nodes := []parse.Node{nil}
	for _, node := range list.Nodes {
		if err := m.node(node, level, &c); err != nil {
			return err
		}
		if call, ok := node.(*parse.TemplateNode); ok {
			nodes = append(nodes, charging(call.Pos, 1, 0, level+1), call, charging(call.Pos, 1, 0, -level-1))
			continue
		}
		nodes = append(nodes, node)
	}
	nodes[0] = charging(list.Pos, c.nodes, c.scans, 0)
	list.Nodes = nodes
	return nil
}

// node adds what one node of a block costs.
func (m *metering) node(node parse.Node, level int, c *cost) error {
	c.nodes++
	switch node := node.(type) {
	case *parse.ActionNode:
		return m.pipe(node.Pipe, 0, c)
	case *parse.BreakNode, *parse.ContinueNode:
		c.nodes += unwinding
	case *parse.IfNode:
		return m.branch(&node.BranchNode, level, c)
	case *parse.WithNode:
		return m.branch(&node.BranchNode, level, c)
	case *parse.RangeNode:
		// A map is sorted before it is ranged over.
		c.scans++
		return m.branch(&node.BranchNode, level, c)
	case *parse.TemplateNode:
		return m.pipe(node.Pipe, 0, c)
	}
	return nil
}

func (m *metering) branch(b *parse.BranchNode, level int, c *cost) error {
	if err := m.pipe(b.Pipe, 0, c); err != nil {
		return err
	}
	if err := m.block(b.List, level+1); err != nil {
		return err
	}
	return m.block(b.ElseList, level+1)
}

// pipe adds what a pipeline costs: its nodes, those of pipelines in parentheses included, and how
// many of its functions scan their arguments.
func (m *metering) pipe(pipe *parse.PipeNode, parens int, c *cost) error {
	if pipe == nil {
		return nil
	}
	if parens > maxParens {
		return errParens
	}
	for _, variable := range pipe.Decl {
		m.operand(variable, c)
	}
	for _, command := range pipe.Cmds {
		for _, arg := range command.Args {
			for chain, ok := arg.(*parse.ChainNode); ok; chain, ok = arg.(*parse.ChainNode) {
				c.nodes += len(chain.Field)
				arg = chain.Node
			}
			if inner, ok := arg.(*parse.PipeNode); ok {
				if err := m.pipe(inner, parens+1, c); err != nil {
					return err
				}
				continue
			}
			m.operand(arg, c)
		}
	}
	return nil
}

// operand adds what evaluating an operand costs. A variable costs more the more variables there
// are, because text/template searches its list of them from the end.
func (m *metering) operand(arg parse.Node, c *cost) {
	c.nodes++
	switch arg := arg.(type) {
	case *parse.FieldNode:
		c.nodes += len(arg.Ident)
	case *parse.VariableNode:
		c.nodes += len(arg.Ident) + m.variables/compared
	case *parse.IdentifierNode:
		m.used[arg.Ident] = true
		if scanning[arg.Ident] {
			c.scans++
		}
	}
}

// charging returns the action {{ charge nodes scans deeper }}.
func charging(pos parse.Pos, nodes, scans, deeper int) *parse.ActionNode {
	args := []parse.Node{parse.NewIdentifier(chargeName).SetPos(pos)}
	for _, n := range []int{nodes, scans, deeper} {
		args = append(args, &parse.NumberNode{NodeType: parse.NodeNumber, Pos: pos, IsInt: true, Int64: int64(n), Text: strconv.Itoa(n)})
	}
	command := &parse.CommandNode{NodeType: parse.NodeCommand, Pos: pos, Args: args}
	pipe := &parse.PipeNode{NodeType: parse.NodePipe, Pos: pos, Cmds: []*parse.CommandNode{command}}
	return &parse.ActionNode{NodeType: parse.NodeAction, Pos: pos, Pipe: pipe}
}
