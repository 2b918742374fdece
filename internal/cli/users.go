package cli

import (
	"bufio"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"

	"github.com/bartleby-mq/bartleby/internal/api"
)

// secretArgument is the argument at i, or the first line of stdin.
func (c *call) secretArgument(i int) (string, error) {
	if len(c.args) > i {
		return c.args[i], nil
	}
	if !c.quiet() {
		fmt.Fprintln(c.stderr, "Password:")
	}
	line, err := bufio.NewReader(c.stdin).ReadString('\n')
	if err != nil && !errors.Is(err, io.EOF) {
		return "", err
	}
	if line = strings.TrimRight(line, "\r\n"); line == "" {
		return "", failf(exitUsage, "no password given, neither as an argument nor on standard input")
	}
	return line, nil
}

func (c *call) user(name string) (api.User, error) {
	var u api.User
	err := c.client.Get(c.ctx, &u, "users", name)
	if status(err) == http.StatusNotFound {
		return u, c.noUser(name)
	}
	return u, err
}

func addUser(c *call) error {
	name := c.args[0]
	if name == "" {
		return c.badArgument("user cannot be an empty string")
	}
	c.banner(`Adding user "%s" ...`, name)
	password, err := c.secretArgument(1)
	if err != nil {
		return err
	}
	switch err := c.client.Get(c.ctx, nil, "users", name); {
	case err == nil:
		return failf(exitSoftware, `User "%s" already exists`, name)
	case status(err) != http.StatusNotFound:
		return err
	}
	put := api.PutUser{Password: &password, Tags: &api.Tags{}}
	if c.words.on("pre-hashed-password") {
		put = api.PutUser{PasswordHash: &password, Tags: &api.Tags{}}
	}
	if _, err := c.client.Put(c.ctx, put, "users", name); err != nil {
		return err
	}
	return c.done(fmt.Sprintf("Done. Don't forget to grant the user permissions to some virtual hosts! "+
		"See '%s help set_permissions' to learn more.", c.program), nil)
}

func deleteUser(c *call) error {
	name := c.args[0]
	c.banner(`Deleting user "%s" ...`, name)
	err := c.client.Delete(c.ctx, "users", name)
	if status(err) == http.StatusNotFound {
		return c.noUser(name)
	}
	if err != nil {
		return err
	}
	return c.done("", nil)
}

func changePassword(c *call) error {
	name := c.args[0]
	c.banner(`Changing password for user "%s" ...`, name)
	password, err := c.secretArgument(1)
	if err != nil {
		return err
	}
	return c.replaceUser(name, func(u *api.PutUser) { u.Password, u.PasswordHash, u.HashingAlgorithm = &password, nil, "" })
}

func clearPassword(c *call) error {
	c.banner(`Clearing password for user "%s" ...`, c.args[0])
	none := ""
	return c.replaceUser(c.args[0], func(u *api.PutUser) { u.PasswordHash = &none })
}

func setUserTags(c *call) error {
	tags := api.Tags(c.args[1:])
	c.banner(`Setting tags for user "%s" to [%s] ...`, c.args[0], strings.Join(tags, ", "))
	return c.replaceUser(c.args[0], func(u *api.PutUser) { u.Tags = &tags })
}

// replaceUser writes a user back with a change.
func (c *call) replaceUser(name string, change func(*api.PutUser)) error {
	u, err := c.user(name)
	if err != nil {
		return err
	}
	put := api.PutUser{PasswordHash: &u.PasswordHash, HashingAlgorithm: u.HashingAlgorithm, Tags: &u.Tags}
	change(&put)
	if _, err := c.client.Put(c.ctx, put, "users", name); err != nil {
		return err
	}
	return c.done("", nil)
}

// authenticateUser logs in as the user. One who is known but may not use the management API has been authenticated.
func authenticateUser(c *call) error {
	name := c.args[0]
	c.banner(`Authenticating user "%s" ...`, name)
	password, err := c.secretArgument(1)
	if err != nil {
		return err
	}
	as := api.Client{Base: c.client.Base, User: name, Password: password, HTTP: c.client.HTTP}
	var refused *api.Error
	err = as.Get(c.ctx, nil, "whoami")
	switch {
	case err == nil, errors.As(err, &refused) && refused.Kind == "not_authorised":
		return c.done("Success", nil)
	case status(err) == http.StatusUnauthorized:
		return failf(exitData, "Error: failed to authenticate user \"%s\"\nuser '%s' - invalid credentials", name, name)
	}
	return err
}

func listUsers(c *call) error {
	c.banner("Listing users ...")
	rows, err := c.rows("users")
	if err != nil {
		return err
	}
	return c.show([]column{{name: "user", path: "name"}, {name: "tags", path: "tags", as: c.forPeople(asAtoms)}}, rows)
}

// hashPassword salts and hashes a password as the broker does. Source: RabbitMQ passwords, computing password hash.
func hashPassword(c *call) error {
	password, err := c.secretArgument(0)
	if err != nil {
		return err
	}
	hash := make([]byte, saltBytes, saltBytes+sha256.Size)
	rand.Read(hash) // which never fails
	sum := sha256.Sum256(append(slices.Clone(hash), password...))
	return c.done(base64.StdEncoding.EncodeToString(append(hash, sum[:]...)), nil)
}

// saltBytes is the length of the salt before a hash.
const saltBytes = 4
