/**
 * Sentences of the server without a code of their own: causes inside of another sentence, and failures of turns, which are
 * stored as text. A translation finds them by this text; `test/public/server-text.test.ts` finds each in the server's code.
 */
import { isEnglish, translator } from './t.ts'

const FILES = [
  'it does not exist',
  'a part of its path is not a directory',
  'it is a directory, not a regular file',
  'it is a broken symlink',
  'permission denied',
  'its symlinks form a loop',
  'the file system is read-only',
  'the disk is full',
  'the disk quota is used up',
  'the disk reports a read or write error',
  'it does not have the expected format',
  'line {line}: its JSON ends too early',
  'line {line}: it is not valid JSON',
  'tabs cannot be used as indentation',
  'a second document begins here, and only one is supported',
  '"{key}" is there twice (first in {reason})',
  'it is a list, not a mapping of keys to values',
  'it is a single value, not a mapping of keys to values',
  'line {line}',
  'It does not begin with front matter',
  'Its front matter is not a list of keys and values',
  'Its front matter cannot be read: {reason}',
  'text',
  'a list',
  'a mapping',
  'a model name or a mapping',
] as const

const NETWORK = [
  'connection refused',
  'unknown host',
  'DNS lookup failed',
  'connection reset',
  'connection closed',
  'connection timed out',
  'timed out',
  'no connection',
  'certificate error: {code}',
  'the host is unreachable',
  'the network is unreachable',
  'it rejected the key',
  'the key has no permission',
  'there is no model list at that address',
  'it is rate limited',
  'it returned status {status}',
  'the authorization server answered “{code}”',
  'it answered {status}',
  'The answer of the authorization server is larger than 1 MB',
] as const

const TURNS = [
  'No response from {host}: {reason}',
  '{host} ended the response too early.',
  '{host} stopped responding.',
  'Part of the response from {host} was lost.',
  'The response is too large.',
  'The provider’s response isn’t valid JSON.',
  'The conversation fills the model’s context window.',
  '{host} redirects to {target}. Set model.base_url to the final address.',
  '{host} responded with a web page{title}, not as an API. Check the provider’s address (model.base_url).',
  'The certificate of {host} isn’t trusted: {code}',
  '{host} does not speak HTTPS. Write its address with http://.',
  'The API key contains invalid characters.',
  'The model’s address isn’t a valid URL: {host}',
  'The tool call is longer than the model’s output limit.',
  'The provider’s content filter blocked the response.',
  'The provider’s content filter stopped this answer before its end.',
  'The model returned an empty response.',
  'The model thought, but did not answer.',
  'The model keeps making tool calls that can’t be parsed.',
  'No response received.',
  "Couldn't save this turn.",
  'The server stopped while this turn was running.',
  'The partial response is saved. Send a message to continue.',
  "The server stopped while {name} was working, and {name} can't load its session to continue.",
  'What it wrote is saved. Send a message to continue.',
  'It restarts with your next message.',
  '{name} stopped on its own.',
  '{name} is not signed in.',
  '{name} is not signed in. It says: {reason}',
  'Choose another model or add a key for this provider.',
  'Your account with this provider has no credit left. Top it up, or choose another model.',
  'A limit of your account with this provider is used up. Raise it there, or choose another model.',
  'Wait a moment and send again, or choose another model.',
  'The provider asks to wait {duration}. Send again then, or choose another model.',
  'Check that the key in the agent home’s .env belongs to this provider and can use this model.',
  'Check the model’s name, or choose one from the list.',
  'Check the provider’s address (base_url). For most servers it ends in /v1.',
  'The content rules of this provider are the reason. Say it in another way, or choose another model.',
  'This provider does not serve the country this server is in. Choose another model.',
  'The key is not the reason: a firewall, a proxy, or Cloudflare refused the request. Allow this server there, or choose another model.',
  'Compact the chat, start a new one, or choose a model with a larger context window.',
  'Choose a smaller model or a smaller context window, or free memory on the model’s server.',
  'Load the model on its server, then send again. The server’s log says why it stopped.',
  'The model’s server is still loading it. Send again when it is ready.',
  'Check the provider’s address and your connection, then send again.',
  'The model was still reading the conversation. If a proxy is in front of its server, raise the proxy’s time limit.',
  'The provider has a problem. Send again later, or choose another model.',
  'Raise or remove the budget in Settings → Budgets, then send again.',
  'Check that this key can use the model, or choose another one.',
  'Raise the model’s output limit (max_tokens) or lower its reasoning effort. On a server of your own, check its reasoning parser.',
  'The response was cut off at the length limit.',
  'The response is incomplete: {reason}',
  'The limit of {steps} steps is reached.',
  'Couldn’t summarize the earlier conversation, so it is sent in full: {reason}',
  'Compacting the context…',
  'Context compacted: about {before} → {after} tokens.',
  'A key of {name} {reason}; continuing with another one.',
  '{model} {reason}; continuing with {other}.',
  'is rate limited',
  'has no credit left',
  'was rejected',
  'rejected the key',
  'isn’t available',
  'can’t be reached',
  'returned nothing',
  'refused the request',
  'isn’t ready',
  'failed',
  '{name} reached its token limit.',
  '{name} reached its step limit.',
  '{name} declined to continue.',
  '{name} ended its turn without a response.',
  '{name} no longer has this conversation, so it received the history as text.',
  '{name} does not get the MCP server {server}: the rule “{rule}” names it, and it might be used without asking.',
  'The budget for this turn is used up: {used} of {limit}.',
  'The budget for this chat is used up: {used} of {limit}.',
  'The budget for today is used up: {used} of {limit}.',
  '{model} responded in {duration}.',
  'No response within {seconds} seconds.',
] as const

const PLACES = [
  'The terminal is turned off on this server (AGENT_WEBUI_TERMINAL=off).',
  'The terminal needs the program “script”. It is part of util-linux (Debian and Ubuntu: bsdutils; Fedora: util-linux-script; Alpine: util-linux-misc).',
  'The terminal needs the program “stty”, which is part of coreutils.',
  'it did not start within 5 seconds',
  'The sandbox works on Linux, with bubblewrap, and on macOS only.',
  "The sandbox doesn't work here: bwrap isn't installed. Install the package bubblewrap (apt install bubblewrap, dnf install bubblewrap, pacman -S bubblewrap).",
  "The sandbox doesn't work here: bwrap can't start: {reason}.",
  "The sandbox doesn't work here: sandbox-exec can't start: {reason}.",
  "The sandbox doesn't work here: {program}, a part of macOS, is missing.",
  'AppArmor forbids user namespaces (Ubuntu 24.04 and later). Load the profile for bwrap: {command}',
  'the kernel forbids user namespaces. Allow them: {command}',
  'the kernel allows no user namespaces. Allow them: {command}',
  'this container forbids it ({reason}). Start the container with {options}, or leave sandbox.enabled off: the container contains them already',
  'the systemd unit forbids it ({reason}). Install the unit of this version: systemd/agent-webui.service',
  'user namespaces are off, or not allowed here ({reason}). Allow them in the kernel, or for the program that started this one',
  'this service runs in a sandbox of macOS itself, and sandboxes cannot be nested. Start it outside of that',
  "The sandbox can't protect the workspace {folder}, because {reason}. Choose a folder with only the files of the project, or turn sandbox.enabled off.",
  'it is the home of this service',
  'it contains your home directory',
  'it contains files of other programs',
  'its .git is a link, which a command could replace',
  "{engine} can't be reached: {reason}. terminal.backend asks for a container, so no command runs until it is started, or until terminal.backend is local.",
  '"{command}" did not end within {seconds} s',
  'no reason was given',
  'terminal.backend is docker, but neither docker nor podman is installed here. Install one of them, or set terminal.backend to local.',
  'terminal.backend is podman, but podman is not installed here. Install it, or set terminal.backend to local.',
  '{program} could not be started: {reason}.',
  "The container image {image} (terminal.docker_image) is not here and can't be downloaded: {reason}.",
  "The container image {image} (terminal.docker_image) can't be read: {reason}.",
  'The container image {image} is being downloaded, for {seconds} s so far. Nothing runs until it is here. Run the command again in a minute.',
  'The container for commands did not start: {reason}. Check terminal.docker_image and the other docker_… and container_… keys.',
  "The container for commands can't run a shell: {reason}.",
  "{keys} can't be applied here: {reason}. Set 0 to run commands without this limit.",
  '{folder} is not in the container. Commands can work in the workspace {workspace}; terminal.docker_volumes in config.yaml can add folders.',
  "The workspace {folder} can't be used in a container, because every image has its own. Choose another one.",
] as const

/** What is wrong with a rule, an entry, or a value of config.yaml. */
const SETTINGS = [
  'A rule is text, such as edit(src/**). Put quotes around one with “: ” or “#”.',
  'This rule is too long.',
  'A rule is the name of a tool, or a tool with a pattern in parentheses: bash(git push *).',
  'A rule must not contain invisible characters.',
  'The parentheses are empty. Leave them out for everything.',
  'Rules for MCP tools have no parentheses.',
  'There is no tool “{tool}”.',
  'A rule for {tool} has no parentheses.',
  'An address is written domain:example.org.',
  'A path may contain four groups in braces.',
  'It is not a list of rules.',
  'It has neither a command nor a url.',
  'Its url is not an http address.',
  'provider_routing must be a mapping',
  'provider_routing.{key} is not a setting',
  'provider_routing.{key} must be {kind}',
  'price, throughput or latency',
  'a list of names',
  'true or false',
  'allow or deny',
  'a number',
] as const

/** Other words of the server for the same. */
export const SAME: Readonly<Record<string, string>> = {
  'the connection was refused': 'connection refused',
  'the name is unknown': 'unknown host',
  'the name could not be looked up': 'DNS lookup failed',
  'the connection was reset': 'connection reset',
  'the connection broke': 'connection closed',
  'the connection broke off': 'connection closed',
  'the connection timed out': 'connection timed out',
}

export const SENTENCES: readonly string[] = [
  ...FILES,
  ...NETWORK,
  ...TURNS,
  ...PLACES,
  ...SETTINGS,
  // Behind the lines that have a cause of their own.
  'line {line}: {reason}',
]

const t = translator('server', {
  'server.copy': 'Copy details',
  'server.said': 'The server reports: “{text}”',
  'server.quote': '“{text}”',
})
export { t }

const inLanguage = translator(
  'sentence',
  Object.fromEntries(SENTENCES.map(text => [text, text])),
) as (key: string, values: object) => string

/** One word, such as a host; names may have several. */
const WORDS: Readonly<Record<string, string>> = {
  host: '(\\S+)',
  target: '(\\S+)',
  code: '([^\\s“”]+)',
  status: '(\\d+)',
  line: '(\\d+)',
  seconds: '(\\d+)',
  name: '([^.:]{1,60}?)',
  /** Of a page, in parentheses; it may have none. */
  title: '(| \\(“.*”\\))',
}

type Form = { text: string; names: string[]; pattern: RegExp }

/** A text with `{placeholders}` as a pattern for the sentences that were made of it. */
export const toForm = (text: string): Form => {
  const names: string[] = []
  const parts = text.split(/\{(\w+)\}/).map((part, at) => {
    if (at % 2 === 0) return part.replace(/[.*+?^${}()|[\]\\]/g, '\\$&')
    if (names.includes(part)) return `\\${names.indexOf(part) + 1}`
    names.push(part)
    return WORDS[part] ?? '([^]+?)'
  })
  return { text, names, pattern: new RegExp(`^${parts.join('')}$`) }
}

/** Ours are shorter. Matching takes time that grows with the square of the length. */
const MAX_CHARS = 600

/** The values by which a sentence was made of the text; null for another sentence. */
export const valuesIn = (
  { names, pattern }: Form,
  sentence: string,
): Record<string, string> | null => {
  const match = sentence.length > MAX_CHARS ? null : pattern.exec(sentence)
  return match && Object.fromEntries(names.map((name, at) => [name, match[at + 1]!]))
}

const FORMS = SENTENCES.map(toForm)

/** A known sentence in the page's language; undefined for any other text. */
export const knownSentence = (sentence: string): string | undefined => {
  const text = sentence.trim()
  const same = Object.hasOwn(SAME, text) ? SAME[text]! : text
  for (const form of FORMS) {
    const values = valuesIn(form, same)
    if (values) return inLanguage(form.text, withCauses(values))
  }
  return undefined
}

/** Values that are words of the server, or of another program. */
const CAUSES = new Set(['reason', 'problem', 'kind'])

const causeText = (value: string): string =>
  knownSentence(value) ?? (isEnglish() ? value : t('server.quote', { text: value }))

/** Causes in the page's language. One that isn't known is in English, so another language quotes it. */
export const withCauses = (values: Readonly<Record<string, unknown>>): Record<string, unknown> =>
  Object.fromEntries(
    Object.entries(values).map(([name, value]) =>
      typeof value === 'string' && CAUSES.has(name) ? [name, causeText(value)] : [name, value],
    ),
  )
