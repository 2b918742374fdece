package accounts

// Defaults is what a node begins with when its log is empty.
type Defaults struct {
	VHost                  string // empty: nothing is made
	User                   string // empty: no user is made
	Password               string
	Tags                   []string
	Configure, Write, Read string // of User in VHost
}

// StandardDefaults is virtual host "/" and the administrator guest with password guest, permitted everything.
// Source: RabbitMQ access-control#default-state.
func StandardDefaults() Defaults {
	return Defaults{
		VHost: "/", User: "guest", Password: "guest", Tags: []string{TagAdministrator},
		Configure: ".*", Write: ".*", Read: ".*",
	}
}

// Commands lists what makes the defaults, in order. The salt is for the user's password.
func (d Defaults) Commands(salt Salt) []Command {
	if d.VHost == "" {
		return nil
	}
	cs := []Command{{Kind: PutVHost, VHost: d.VHost, Description: "Default virtual host"}}
	if d.User == "" {
		return cs
	}
	return append(cs,
		Command{Kind: PutUser, User: d.User, Password: d.Password, Salt: salt, Tags: d.Tags},
		Command{Kind: SetPermission, User: d.User, VHost: d.VHost, Configure: d.Configure, Write: d.Write, Read: d.Read})
}
