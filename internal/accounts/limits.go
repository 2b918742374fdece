package accounts

const (
	// nameBytesMax bounds names of users, virtual hosts, tags, exchanges and parameters. A virtual host and an
	// exchange travel as AMQP short strings; the others follow them.
	nameBytesMax = 255

	// tagsMax bounds the tags of one user or virtual host. Source: RabbitMQ management API, at most 32 tags.
	tagsMax = 32

	// descriptionBytesMax bounds the description of a virtual host; it is a line for people.
	descriptionBytesMax = 4 << 10

	// patternBytesMax bounds one permission expression. Long lists of names are written as alternatives, so it is
	// wider than the 1 KiB of a policy's pattern. patternSizeMax bounds what it becomes, see regex.Check: compiled, a
	// megabyte.
	patternBytesMax = 16 << 10
	patternSizeMax  = 20_000

	// globalsBytesMax bounds all global parameters together, names and values: policymakers set them, and every
	// checkpoint carries them whole.
	globalsBytesMax = 32 << 20

	// topicsBytesMax bounds all topic permissions together: names, expressions, what these are compiled to, and
	// topicCost for each. Every checkpoint carries them whole, and of users and virtual hosts there may be any number.
	topicsBytesMax, topicCost, instructionBytes = 64 << 20, 256, 50

	// permissionsBytesMax bounds the large part of all permissions together: what their expressions and what these are
	// compiled to take beyond permissionBytesFree each. Nobody is refused a permission of ordinary size.
	permissionsBytesMax, permissionBytesFree = 64 << 20, 8 << 10

	// hashBytesMax bounds a password hash given from outside; the longest known one has 4 + 64 bytes.
	hashBytesMax = 1 << 10

	// passwordBytesMax bounds what is hashed; nobody types more.
	passwordBytesMax = 4 << 10

	// valueBytesMax bounds a global parameter's JSON value, so that the log's batches stay small, and nestingMax how
	// deep it nests, so that it can be shown within others.
	valueBytesMax, nestingMax = 1 << 20, 32

	// deedsMax and deedsBytesMax bound the audit log, which every checkpoint carries whole: some weeks of a broker
	// that people look after, and little beside a segment of the log. A deed counts with deedCost more than its texts.
	deedsMax, deedsBytesMax, deedCost = 10_000, 2 << 20, 32

	// DeedBytesMax bounds the texts and the detail of one deed together.
	DeedBytesMax = 8 << 10

	// importBytesMax bounds what is remembered of an import under way. A request's 10 MiB of definitions, deflated,
	// are a tenth of that at most, unless somebody means ill.
	importBytesMax = 16 << 20
)
