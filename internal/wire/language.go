// SPDX-License-Identifier: Apache-2.0

package wire

import "strconv"

// Language is the sender's language. The values are fixed: a Java peer closes
// the connection when it reads one outside its list.
type Language byte

// The languages that matter here. All names are in languageNames.
const (
	LanguageJava  Language = 0
	LanguageCPP   Language = 1
	LanguageOther Language = 7 // also stands for names and numbers we don't know
	LanguageGo    Language = 9
)

var languageNames = [...]string{
	"JAVA", "CPP", "DOTNET", "PYTHON", "DELPHI", "ERLANG", "RUBY",
	"OTHER", "HTTP", "GO", "PHP", "OMS", "RUST", "NODE_JS",
}

// String returns the name on the wire. It never returns a name outside the
// list.
func (l Language) String() string {
	if int(l) < len(languageNames) {
		return languageNames[l]
	}
	return languageNames[LanguageOther]
}

// ParseLanguage reads a name or an ordinal; an unknown one is LanguageOther.
func ParseLanguage(s string) Language {
	for i, name := range languageNames {
		if name == s {
			return Language(i)
		}
	}
	if n, err := strconv.Atoi(s); err == nil {
		return languageOf(n)
	}
	return LanguageOther
}

func languageOf(n int) Language {
	if n < 0 || n >= len(languageNames) {
		return LanguageOther
	}
	return Language(n)
}
