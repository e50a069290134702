// SPDX-License-Identifier: Apache-2.0

package body

import "github.com/orderlymq/orderly/internal/wire"

// Connection is one client of a group. Java: Connection.
type Connection struct {
	ClientID   string
	ClientAddr string // ip:port
	Language   wire.Language
	Version    int32
}

func (c *Connection) write(w *writer) {
	w.open('{')
	w.keyStr("clientAddr", c.ClientAddr)
	w.keyStr("clientId", c.ClientID)
	w.keyStr("language", c.Language.String())
	w.keyInt("version", int64(c.Version))
	w.close('}')
}

func (c *Connection) read(r *reader) {
	r.object(func(key string) {
		switch key {
		case "clientId":
			c.ClientID = r.str()
		case "clientAddr":
			c.ClientAddr = r.str()
		case "language":
			c.Language = wire.ParseLanguage(r.str())
		case "version":
			c.Version = r.int32()
		}
	})
}
