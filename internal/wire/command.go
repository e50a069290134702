// SPDX-License-Identifier: Apache-2.0

package wire

// Command is one frame: a request or the answer to one.
type Command struct {
	Code     int32 // request code, or response code in a response
	Language Language
	Version  int32 // sender's version ordinal, see Version
	Opaque   int32 // id of the request, given back in its response
	Flag     int32 // FlagResponse, FlagOneway

	// Remark is text for people; on errors the reason. An absent remark is ""
	// with EmptyRemark false, a present and empty one is "" with EmptyRemark.
	Remark      string
	EmptyRemark bool

	// Ext is the custom header (extFields): nil is absent, empty is `{}`.
	Ext Fields

	// Body is opaque here. No body and an empty body are the same.
	Body []byte

	// Serialize is the header form this command came in or goes out in.
	Serialize SerializeType

	// namesType: the JSON header carried the key serializeTypeCurrentRPC. Java
	// always writes it and nobody needs it; it is kept for a true round trip.
	namesType bool
}

// Bits of Command.Flag.
const (
	FlagResponse int32 = 1 << 0
	FlagOneway   int32 = 1 << 1 // the Go client never sets it, Java does
)

// SerializeType is the form of a frame's header.
type SerializeType byte

// The header forms. Each frame names its own; a receiver takes both in any mix.
const (
	SerializeJSON     SerializeType = 0
	SerializeRocketMQ SerializeType = 1
)

// IsResponse says whether the command answers a request.
func (c *Command) IsResponse() bool { return c.Flag&FlagResponse != 0 }

// IsOneway says whether the sender wants no response.
func (c *Command) IsOneway() bool { return c.Flag&FlagOneway != 0 }

// Encoder is a custom header: it appends itself as ext fields.
type Encoder interface{ Encode(*Fields) }

// NewRequest returns a request of ours. The header may be nil. The opaque is
// for the sender to set.
func NewRequest(code int32, h Encoder, body []byte) *Command {
	c := &Command{Code: code, Language: LanguageGo, Version: Version, Body: body}
	if h != nil {
		h.Encode(&c.Ext)
	}
	return c
}

// NewResponse returns the answer to a request, in the header form the request
// came in, with the request's opaque.
func NewResponse(req *Command, code int32, remark string) *Command {
	return &Command{
		Code:      code,
		Language:  LanguageGo,
		Version:   Version,
		Opaque:    req.Opaque,
		Flag:      FlagResponse,
		Remark:    remark,
		Serialize: req.Serialize,
	}
}

// Name returns RocketMQ's name of the code: that of a response code in a
// response, else that of a request code.
func (c *Command) Name() string {
	if c.IsResponse() {
		return ResponseName(c.Code)
	}
	return RequestName(c.Code)
}
