/** What a program needs on macOS besides its files: the parts of a Seatbelt profile that are the same for every sandbox. */

/** Directories and files of the system that every sandbox shows read-only, by their real paths. */
export const MACOS_SYSTEM = [
  '/bin',
  '/sbin',
  '/usr',
  '/opt',
  '/nix',
  '/private/etc',
  // Not all of /System: the volume with the data of users is mounted below it.
  '/System/Cryptexes',
  '/System/Library',
  '/System/Volumes/Preboot/Cryptexes',
  '/System/iOSSupport',
  '/Applications/Xcode.app',
  '/Library/Apple',
  '/Library/Developer',
  '/Library/Filesystems/NetFSPlugins',
  '/Library/Fonts',
  '/Library/Frameworks',
  '/Library/Java',
  '/Library/Perl',
  '/Library/Preferences/Logging',
  '/Library/Ruby',
  '/Library/TeX',
  '/private/var/db/dyld',
  '/private/var/db/timezone',
  // Which shell /bin/sh is, and which Xcode the tools in /usr/bin belong to.
  '/private/var/select',
  '/private/var/db/xcode_select_link',
] as const

/** Symlinks of the system on the way to real paths. */
export const SYSTEM_LINKS = ['/etc', '/tmp', '/var'] as const

const DEVICES = '(literal "/dev/null") (literal "/dev/zero") (literal "/dev/dtracehelper")'

/**
 * Mach services that answer questions: names of users, time zones, preferences, logs. None that acts for a client: with
 * LaunchServices, Apple events, or launchd a command could start a program outside the sandbox, with the security server
 * read the keychain, and with mDNSResponder send data in the names that it resolves.
 */
const SERVICES = [
  'com.apple.bsd.dirhelper',
  'com.apple.cfprefsd.agent',
  'com.apple.cfprefsd.daemon',
  'com.apple.diagnosticd',
  'com.apple.logd',
  'com.apple.PowerManagement.control',
  'com.apple.system.logger',
  'com.apple.system.notification_center',
  'com.apple.system.opendirectoryd.libinfo',
  'com.apple.system.opendirectoryd.membership',
] as const

/** To resolve names and to check certificates. */
const NETWORK_SERVICES = [
  'com.apple.dnssd.service',
  'com.apple.networkd',
  'com.apple.ocspd',
  'com.apple.SystemConfiguration.configd',
  'com.apple.SystemConfiguration.DNSConfiguration',
  'com.apple.trustd',
  'com.apple.trustd.agent',
] as const

const lookup = (names: readonly string[]): string =>
  `(allow mach-lookup ${names.map(name => `(global-name "${name}")`).join(' ')})`

export const BASE_RULES = [
  '(version 1)',
  '(deny default)',
  // A child has the sandbox of its parent and cannot leave it.
  '(allow process-exec)',
  '(allow process-fork)',
  '(allow process-info* (target same-sandbox))',
  '(allow signal (target same-sandbox))',
  '(allow sysctl-read)',
  // The size of the memory and the number of processors.
  '(allow mach-host*)',
  '(allow user-preference-read)',
  '(allow iokit-open (iokit-registry-entry-class "RootDomainUserClient"))',
  lookup(SERVICES),
  // Locks of Python's multiprocessing. Shared memory could belong to a program outside.
  '(allow ipc-posix-sem)',
  '(allow ipc-posix-shm-read* (ipc-posix-name "apple.shm.notification_center") (ipc-posix-name-prefix "apple.cfprefs."))',
  `(allow file-read* file-test-existence file-write-data file-ioctl ${DEVICES})`,
  '(allow file-read* file-test-existence (literal "/dev/random") (literal "/dev/urandom"))',
  '(allow file-read-data file-test-existence file-write-data (subpath "/dev/fd"))',
  // New pseudo-terminals only: those of the user's terminal windows do not have the extension.
  '(allow pseudo-tty)',
  '(allow file-read* file-write* file-ioctl (literal "/dev/ptmx"))',
  '(allow file-read* file-write* file-ioctl (require-all (regex #"^/dev/ttys[0-9]+$") (extension "com.apple.sandbox.pty")))',
  // Sockets with a path; which paths is decided with the files.
  '(allow system-socket (socket-domain AF_UNIX))',
  // Programs resolve their own path from the root.
  '(allow file-read* file-test-existence (literal "/"))',
] as const

export const NETWORK_RULES = [
  '(allow system-socket)',
  '(allow network-outbound (remote ip "*:*"))',
  '(allow network-bind (local ip "*:*"))',
  '(allow network-inbound (local ip "*:*"))',
  '(allow network-outbound (literal "/private/var/run/mDNSResponder"))',
  '(allow file-read* (literal "/private/var/run/resolv.conf"))',
  lookup(NETWORK_SERVICES),
] as const

/**
 * The proxy resolves names. Certificates are checked by libraries of their own: the services of the system that check them
 * would fetch any address that a certificate names.
 */
export const proxyRules = (port: number): string[] => [
  '(allow system-socket (socket-domain AF_INET) (socket-domain AF_INET6))',
  `(allow network-outbound (remote ip "localhost:${port}"))`,
]
