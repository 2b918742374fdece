package resources

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
	"github.com/bartleby-mq/bartleby/internal/cli/command"
)

// secretArgument is the argument at i, or the first line of stdin.
func secretArgument(c *command.Call, i int) (string, error) {
	if len(c.Args) > i {
		return c.Args[i], nil
	}
	if !c.Quiet() {
		fmt.Fprintln(c.Stderr, "Password:")
	}
	line, err := bufio.NewReader(c.Stdin).ReadString('\n')
	if err != nil && !errors.Is(err, io.EOF) {
		return "", err
	}
	if line = strings.TrimRight(line, "\r\n"); line == "" {
		return "", command.Failf(command.ExitUsage, "no password given, neither as an argument nor on standard input")
	}
	return line, nil
}

func userNamed(c *command.Call, name string) (api.User, error) {
	var u api.User
	err := c.Client.Get(c.Ctx, &u, "users", name)
	if command.Status(err) == http.StatusNotFound {
		return u, c.NoUser(name)
	}
	return u, err
}

func addUser(c *command.Call) error {
	name := c.Args[0]
	if name == "" {
		return c.BadArgument("user cannot be an empty string")
	}
	c.Banner(`Adding user "%s" ...`, name)
	password, err := secretArgument(c, 1)
	if err != nil {
		return err
	}
	switch err := c.Client.Get(c.Ctx, nil, "users", name); {
	case err == nil:
		return command.Failf(command.ExitSoftware, `User "%s" already exists`, name)
	case command.Status(err) != http.StatusNotFound:
		return err
	}
	put := api.PutUser{Password: &password, Tags: &api.Tags{}}
	if c.Options.On("pre-hashed-password") {
		put = api.PutUser{PasswordHash: &password, Tags: &api.Tags{}}
	}
	if _, err := c.Client.Put(c.Ctx, put, "users", name); err != nil {
		return err
	}
	return c.Done(fmt.Sprintf("Done. Don't forget to grant the user permissions to some virtual hosts! "+
		"See '%s help set_permissions' to learn more.", c.Program), nil)
}

func deleteUser(c *command.Call) error {
	name := c.Args[0]
	c.Banner(`Deleting user "%s" ...`, name)
	err := c.Client.Delete(c.Ctx, "users", name)
	if command.Status(err) == http.StatusNotFound {
		return c.NoUser(name)
	}
	if err != nil {
		return err
	}
	return c.Done("", nil)
}

func changePassword(c *command.Call) error {
	name := c.Args[0]
	c.Banner(`Changing password for user "%s" ...`, name)
	password, err := secretArgument(c, 1)
	if err != nil {
		return err
	}
	return replaceUser(c, name, func(u *api.PutUser) { u.Password, u.PasswordHash, u.HashingAlgorithm = &password, nil, "" })
}

func clearPassword(c *command.Call) error {
	c.Banner(`Clearing password for user "%s" ...`, c.Args[0])
	none := ""
	return replaceUser(c, c.Args[0], func(u *api.PutUser) { u.PasswordHash = &none })
}

func setUserTags(c *command.Call) error {
	tags := api.Tags(c.Args[1:])
	c.Banner(`Setting tags for user "%s" to [%s] ...`, c.Args[0], strings.Join(tags, ", "))
	return replaceUser(c, c.Args[0], func(u *api.PutUser) { u.Tags = &tags })
}

// replaceUser writes a user back with a change.
func replaceUser(c *command.Call, name string, change func(*api.PutUser)) error {
	u, err := userNamed(c, name)
	if err != nil {
		return err
	}
	put := api.PutUser{PasswordHash: &u.PasswordHash, HashingAlgorithm: u.HashingAlgorithm, Tags: &u.Tags}
	change(&put)
	if _, err := c.Client.Put(c.Ctx, put, "users", name); err != nil {
		return err
	}
	return c.Done("", nil)
}

// authenticateUser logs in as the user. One who is known but may not use the management API has been authenticated.
func authenticateUser(c *command.Call) error {
	name := c.Args[0]
	c.Banner(`Authenticating user "%s" ...`, name)
	password, err := secretArgument(c, 1)
	if err != nil {
		return err
	}
	as := api.Client{Base: c.Client.Base, User: name, Password: password, HTTP: c.Client.HTTP}
	var refused *api.Error
	err = as.Get(c.Ctx, nil, "whoami")
	switch {
	case err == nil, errors.As(err, &refused) && refused.Kind == "not_authorised":
		return c.Done("Success", nil)
	case command.Status(err) == http.StatusUnauthorized:
		return command.Failf(command.ExitData, "Error: failed to authenticate user \"%s\"\nuser '%s' - invalid credentials", name, name)
	}
	return err
}

func listUsers(c *command.Call) error {
	c.Banner("Listing users ...")
	rows, err := c.Rows("users")
	if err != nil {
		return err
	}
	return c.Show([]command.Column{{Name: "user", Path: "name"}, {Name: "tags", Path: "tags", As: c.ForPeople(command.AsAtoms)}}, rows)
}

// hashPassword salts and hashes a password as the broker does. Source: RabbitMQ passwords, computing password hash.
func hashPassword(c *command.Call) error {
	password, err := secretArgument(c, 0)
	if err != nil {
		return err
	}
	hash := make([]byte, saltBytes, saltBytes+sha256.Size)
	rand.Read(hash) // which never fails
	sum := sha256.Sum256(append(slices.Clone(hash), password...))
	return c.Done(base64.StdEncoding.EncodeToString(append(hash, sum[:]...)), nil)
}

// saltBytes is the length of the salt before a hash.
const saltBytes = 4
