/**
 * Sentences of the server that a page shows in its own language, by their code: causes inside of another sentence, and what becomes of a
 * turn. They are sent in English, and beside it with their code and their values; the page has a translation for each code.
 */

import { isObject } from './json.ts'

/** In English; values are in braces. */
export const SENTENCES = {
  'file.missing': 'it does not exist',
  'file.not_a_folder': 'a part of its path is not a directory',
  'file.is_folder': 'it is a directory, not a regular file',
  'file.broken_link': 'it is a broken symlink',
  'file.denied': 'permission denied',
  'file.loop': 'its symlinks form a loop',
  'file.read_only': 'the file system is read-only',
  'file.disk_full': 'the disk is full',
  'file.quota': 'the disk quota is used up',
  'file.disk_error': 'the disk reports a read or write error',
  'file.format': 'it does not have the expected format',
  'json.cut': 'line {line}: its JSON ends too early',
  'json.invalid': 'line {line}: it is not valid JSON',
  'yaml.line': 'line {line}: {reason}',
  'yaml.tabs': 'tabs cannot be used as indentation',
  'yaml.documents': 'a second document begins here, and only one is supported',
  'yaml.twice': '"{key}" is there twice (first in {reason})',
  'yaml.list': 'it is a list, not a mapping of keys to values',
  'yaml.scalar': 'it is a single value, not a mapping of keys to values',
  'yaml.at': 'line {line}',
  'front_matter.none': 'It does not begin with front matter',
  'front_matter.no_mapping': 'Its front matter is not a list of keys and values',
  'front_matter.unreadable': 'Its front matter cannot be read: {reason}',
  'kind.text': 'text',
  'kind.list': 'a list',
  'kind.mapping': 'a mapping',
  'kind.model': 'a model name or a mapping',
  'kind.sort': 'price, throughput or latency',
  'kind.names': 'a list of names',
  'kind.boolean': 'true or false',
  'kind.allow': 'allow or deny',
  'kind.number': 'a number',

  'net.refused': 'connection refused',
  'net.unknown_host': 'unknown host',
  'net.dns': 'DNS lookup failed',
  'net.reset': 'connection reset',
  'net.closed': 'connection closed',
  'net.connect_timeout': 'connection timed out',
  'net.timeout': 'timed out',
  'net.none': 'no connection',
  'net.certificate': 'certificate error: {code}',
  'net.host_unreachable': 'the host is unreachable',
  'net.network_unreachable': 'the network is unreachable',
  'list.key_rejected': 'it rejected the key',
  'list.key_without_permission': 'the key has no permission',
  'list.none': 'there is no model list at that address',
  'list.rate_limited': 'it is rate limited',
  'list.status': 'it returned status {status}',
  'oauth.answered': 'the authorization server answered “{code}”',
  'oauth.status': 'it answered {status}',
  'oauth.too_large': 'The answer of the authorization server is larger than 1 MB',

  'turn.no_response_from': 'No answer from {host}: {reason}',
  'turn.ended_early': '{host} ended the answer too early.',
  'turn.stalled': '{host} stopped responding.',
  'turn.part_lost': 'Part of the answer from {host} was lost.',
  'turn.too_large': 'The answer is too large.',
  'turn.not_json': 'The provider’s answer isn’t valid JSON.',
  'turn.window_full': 'The chat fills the model’s context window.',
  'turn.redirected': '{host} redirects to {target}. Set model.base_url to the final address.',
  'turn.web_page':
    '{host} responded with a web page{title}, not as an API. Check the provider’s address (model.base_url).',
  'turn.certificate': 'The certificate of {host} isn’t trusted: {code}',
  'turn.no_https': '{host} does not speak HTTPS. Write its address with http://.',
  'turn.key_characters': 'The API key contains invalid characters.',
  'turn.address': 'The model’s address isn’t a valid URL: {host}',
  'turn.call_too_long': 'The tool call is longer than the model’s output limit.',
  'turn.filter_blocked': 'The provider’s content filter blocked the answer.',
  'turn.filter_stopped': 'The provider’s content filter stopped this answer before its end.',
  'turn.empty': 'The model returned an empty answer.',
  'turn.only_thought': 'The model thought, but did not answer.',
  'turn.unparsed_calls': 'The model keeps making tool calls that can’t be parsed.',
  'turn.no_response': 'No answer received.',
  'turn.not_saved': "Couldn't save this answer.",
  'turn.interrupted': 'The server stopped during this answer.',
  'task.interrupted': 'The server stopped while this task was running.',
  'task.stopped': 'The run was stopped.',
  'task.unfinished': 'The run did not finish.',
  'task.failed': 'The run failed; see the log.',
  'task.idle': 'Stopped: nothing happened for {seconds} seconds.',
  'task.too_long': 'Stopped: it ran longer than {seconds} seconds.',
  'task.not_claimed': 'It could not be claimed: {reason}',
  'task.no_output': 'The output file could not be written: {reason}',
  'task.not_delivered':
    "Not delivered to {target}: only local delivery is supported. The result is in the task's history.",
  'task.missed': 'Missed: nothing was running at {time}.',
  'task.busy': 'Skipped: the run before had not ended.',
  'task.once': 'Skipped: run once for several due times.',
  'task.rescheduled':
    'Rescheduled for {next}: {time} does not follow from the schedule, because the clock or the time zone was another one.',
  'turn.partial_saved': 'The part that was written is saved. Send a message to continue.',
  'turn.files_not_moved':
    'This chat continues on another machine. Some files could not be copied there, so they are missing or older: {files}',
  'turn.agent_lost':
    "The server stopped while {name} was working, and {name} can't load what it did before.",
  'turn.agent_saved': 'What it wrote is saved. Send a message to continue.',
  'turn.agent_restarts': 'It restarts with your next message.',
  'turn.agent_stopped': '{name} stopped on its own.',
  'turn.agent_signed_out': '{name} is not signed in.',
  'turn.agent_signed_out_says': '{name} is not signed in. It says: {reason}',
  'turn.cut': 'The answer was cut off at the length limit.',
  'turn.incomplete': 'The answer is incomplete: {reason}',
  'turn.step_limit': 'The limit of {steps} steps is reached.',
  'turn.not_summarized':
    'Couldn’t summarize the earlier messages, so they are sent in full: {reason}',
  'window.short':
    '{model} reads {count} tokens at once, so this chat uses a short prompt: long instructions, notes, and lists of skills are cut. {advice}',
  'window.few_tools':
    '{model} reads {count} tokens at once, so this chat uses a short prompt and fewer tools: {tools}. {advice}',
  'window.choose_larger': 'A model with a larger window gets all of it.',
  'window.configured':
    'context_length in config.yaml is {expected}, but the server runs {model} with {count} tokens. {advice}',
  'window.truncated':
    '{name} read only {count} of about {sent} tokens: the context window of {model} is smaller than expected, and the rest was dropped without an error. {advice}',
  'window.raise_ollama':
    'Set model.ollama_num_ctx in config.yaml, or start Ollama with OLLAMA_CONTEXT_LENGTH set to a larger number.',
  'window.raise_lmstudio': 'Load the model with a larger context length in LM Studio.',
  'window.raise_llamacpp': 'Start llama-server with a larger -c.',
  'window.raise_openai': 'Start the server with a larger maximum model length.',
  'window.raise':
    'Raise the context size where the server is started, or set model.context_length in config.yaml.',
  'model.no_tools':
    '{model} doesn’t support tools, so it can only answer in text. Choose another model for work on files and commands.',
  'model.tools_refused':
    '{name} did not accept tools for {model} this time, so it answers in text. The next message offers them again.',
  'model.tool_limit':
    '{model} takes at most {limit} tools, so {count} are left out. Turn off tools you don’t need in Settings, Tools.',
  'model.tools_rejected':
    '{name} did not accept how a tool is described for {model}, so this chat does without: {tools}.',
  'model.mcp_rejected':
    '{name} did not accept how a tool is described for {model}, so the tools of MCP servers are left out in this chat.',
  'model.no_images': '{model} doesn’t accept images, so it doesn’t see them.',
  'model.no_images_ask':
    '{model} doesn’t accept images, so it doesn’t see them. It can ask about them with vision_analyze.',
  'model.image_rejected': '{model} rejected the image {file}, so it doesn’t see it.',
  'turn.repeated':
    'The same call was made {count} times with the same result, so the answer ends here.',
  'turn.compacting': 'Compacting the context…',
  'turn.compacted': 'Context compacted: about {before} → {after} tokens.',
  'turn.other_key': 'A key of {name} {reason}; continuing with another one.',
  'turn.other_model': '{model} {reason}; continuing with {other}.',
  'turn.agent_token_limit': '{name} reached its token limit.',
  'turn.agent_step_limit': '{name} reached its step limit.',
  'turn.agent_declined': '{name} declined to continue.',
  'turn.agent_silent': '{name} ended without an answer.',
  'turn.agent_history': '{name} no longer has this chat, so it received the history as text.',
  'turn.agent_refused_access': '{name} was refused access. It was told: {reason}',
  'turn.agent_refused_command': '{name} was refused a command. It was told: {reason}',
  'turn.agent_refused_call': '{name} was refused “{call}”. It was told: {reason}',
  'turn.agent_no_hook': '{name} can’t be given what a hook says: {reason}',
  'turn.agent_no_continuation': '{name} can’t be made to continue by a hook, which said: {reason}',
  'turn.agent_no_model': '{name} does not offer the model {model}; it uses its own choice.',
  'turn.agent_no_choice': '{name} got no permission: “{answer}” is none of the answers it offers.',
  'turn.agent_no_plan':
    '{name} has no plan mode. Changes that it asks for are refused, but it may change files without asking.',
  'turn.agent_no_images': 'This agent doesn’t accept images; the image was left out.',
  'turn.agent_image_path':
    'This agent doesn’t accept images in messages, but it may open the file.',
  'turn.agent_starts': '{name} is starting.',
  'turn.agent_downloads':
    '{name} is starting. {program} downloads it first if it isn’t on this machine, which can take minutes.',
  'turn.agent_still_starts': '{name} is still starting after {count} min.',
  'turn.image_not_sent': 'Couldn’t send an image: {reason}',
  'turn.image_not_shown': '{file} is not shown to the model: {reason}',
  'turn.restarted': 'The service was restarted. This answer continues.',
  'turn.agent_mcp':
    '{name} does not get the MCP server {server}: the rule “{rule}” names it, and it might be used without asking.',

  'hook.failed': 'The {event} hook “{command}” failed: {reason}.',
  'hook.objected':
    'The {event} hook “{command}” objected {count} times; its last objection was ignored.',
  'hook.ended_turn': 'A hook ended this answer: {reason}',
  'hook.blocked_message': 'A hook blocked your message: {reason}',
  'checkpoint.file': 'Changes to {file} can’t be undone: {reason}.',
  'checkpoint.large_files': 'Too large to record, so changes can’t be undone: {files}.',
  'checkpoint.unreadable': 'Unreadable, so not recorded: {files}.',
  'checkpoint.build_folders':
    'This folder is large, so dist, build, target and similar folders aren’t recorded.',
  'checkpoint.large_folder':
    'This folder is too large to record ({reason}). Changes made by commands can’t be undone; changes made by the file tools can.',
  'checkpoint.none': 'Changes of this answer can’t be undone: {reason}.',

  'why.rate_limit': 'is rate limited',
  'why.no_credit': 'has no credit left',
  'why.key_was_rejected': 'was rejected',
  'why.rejected_key': 'rejected the key',
  'why.unavailable': 'isn’t available',
  'why.unreachable': 'can’t be reached',
  'why.nothing': 'returned nothing',
  'why.refused': 'refused to answer',
  'why.not_ready': 'isn’t ready',
  'why.failed': 'failed',

  'budget.turn': 'The budget for this message is used up: {used} of {limit}.',
  'budget.session': 'The budget for this chat is used up: {used} of {limit}.',
  'budget.day': 'The budget for today is used up: {used} of {limit}.',

  'amount.tokens': '{count} tokens',
  'amount.usd': '${amount}',

  'test.responded': '{model} responded in {duration}.',
  'test.timeout': 'No answer within {seconds} seconds.',

  'advice.choose_model': 'Choose another model or add a key for this provider.',
  'advice.no_credit':
    'Your account with this provider has no credit left. Top it up, or choose another model.',
  'advice.spending_limit':
    'A limit of your account with this provider is used up. Raise it there, or choose another model.',
  'advice.rate_limit': 'Wait a moment and send again, or choose another model.',
  'advice.wait': 'The provider asks to wait {duration}. Send again then, or choose another model.',
  'advice.auth':
    'Check that the key in the agent home’s .env belongs to this provider and can use this model.',
  'advice.unknown_model': 'Check the model’s name, or choose one from the list.',
  'advice.wrong_address':
    'Check the provider’s address (base_url). For most servers it ends in /v1.',
  'advice.content_refused':
    'The content rules of this provider are the reason. Say it in another way, or choose another model.',
  'advice.region':
    'This provider does not serve the country this server is in. Choose another model.',
  'advice.blocked':
    'The key is not the reason: a firewall, a proxy, or Cloudflare refused the connection. Allow this server there, or choose another model.',
  'advice.overflow':
    'Compact the chat, start a new one, or choose a model with a larger context window.',
  'advice.memory':
    'Choose a smaller model or a smaller context window, or free memory on the model’s server.',
  'advice.unloaded':
    'Load the model on its server, then send again. The server’s log says why it stopped.',
  'advice.loading': 'The model’s server is still loading it. Send again when it is ready.',
  'advice.connection': 'Check the provider’s address and your connection, then send again.',
  'advice.cut_while_working':
    'The model was still reading the chat. If a proxy is in front of its server, raise the proxy’s time limit.',
  'advice.provider': 'The provider has a problem. Send again later, or choose another model.',
  'advice.budget': 'Raise or remove the budget in Settings → System, then send again.',
  'advice.no_response': 'Check that this key can use the model, or choose another one.',
  'advice.only_thought':
    'Raise the model’s output limit (max_tokens) or lower its reasoning effort. On a server of your own, check its reasoning parser.',

  'terminal.off': 'The terminal is turned off on this server (AGENT_WEBUI_TERMINAL=off).',
  'terminal.no_script':
    'The terminal needs the program “script”. It is part of util-linux (Debian and Ubuntu: bsdutils; Fedora: util-linux-script; Alpine: util-linux-misc).',
  'terminal.no_stty': 'The terminal needs the program “stty”, which is part of coreutils.',
  'terminal.no_start': 'it did not start within 5 seconds',

  'sandbox.system': 'The sandbox works on Linux, with bubblewrap, and on macOS only.',
  'sandbox.no_bwrap':
    "The sandbox doesn't work here: bwrap isn't installed. Install the package bubblewrap (apt install bubblewrap, dnf install bubblewrap, pacman -S bubblewrap).",
  'sandbox.bwrap': "The sandbox doesn't work here: bwrap can't start: {reason}.",
  'sandbox.sandbox_exec': "The sandbox doesn't work here: sandbox-exec can't start: {reason}.",
  'sandbox.no_program': "The sandbox doesn't work here: {program}, a part of macOS, is missing.",
  'sandbox.app_armor':
    'AppArmor forbids user namespaces (Ubuntu 24.04 and later). Load the profile for bwrap: {command}',
  'sandbox.kernel_forbids': 'the kernel forbids user namespaces. Allow them: {command}',
  'sandbox.kernel_none': 'the kernel allows no user namespaces. Allow them: {command}',
  'sandbox.in_container':
    'this container forbids it ({reason}). Start the container with {options}, or leave sandbox.enabled off: the container contains them already',
  'sandbox.unit':
    'the systemd unit forbids it ({reason}). Install the unit of this version: systemd/agent-webui.service',
  'sandbox.namespaces':
    'user namespaces are off, or not allowed here ({reason}). Allow them in the kernel, or for the program that started this one',
  'sandbox.nested':
    'this service runs in a sandbox of macOS itself, and sandboxes cannot be nested. Start it outside of that',
  'sandbox.workspace':
    "The sandbox can't protect the workspace {folder}, because {reason}. Choose a folder with only the files of the project, or turn sandbox.enabled off.",
  'sandbox.own_home': 'it is the home of this service',
  'sandbox.contains_home': 'it contains your home directory',
  'sandbox.contains_files': 'it contains files of other programs',
  'sandbox.git_link': 'its .git is a link, which a command could replace',
  'container.unreachable':
    "{engine} can't be reached: {reason}. terminal.backend asks for a container, so no command runs until it is started, or until terminal.backend is local.",
  'container.slow': '"{command}" did not end within {seconds} s',
  'container.no_reason': 'no reason was given',
  'container.no_engine':
    'terminal.backend is docker, but neither docker nor podman is installed here. Install one of them, or set terminal.backend to local.',
  'container.no_podman':
    'terminal.backend is podman, but podman is not installed here. Install it, or set terminal.backend to local.',
  'container.not_started': '{program} could not be started: {reason}.',
  'container.no_image':
    "The container image {image} (terminal.docker_image) is not here and can't be downloaded: {reason}.",
  'container.image_unreadable':
    "The container image {image} (terminal.docker_image) can't be read: {reason}.",
  'container.downloading':
    'The container image {image} is being downloaded, for {seconds} s so far. Nothing runs until it is here. Run the command again in a minute.',
  'container.no_start':
    'The container for commands did not start: {reason}. Check terminal.docker_image and the other docker_… and container_… keys.',
  'container.no_shell': "The container for commands can't run a shell: {reason}.",
  'container.limits':
    "{keys} can't be applied here: {reason}. Set 0 to run commands without this limit.",
  'container.folder':
    '{folder} is not in the container. Commands can work in the workspace {workspace}; terminal.docker_volumes in config.yaml can add folders.',
  'container.workspace':
    "The workspace {folder} can't be used in a container, because every image has its own. Choose another one.",

  'rule.no_text': 'A rule is text, such as edit(src/**). Put quotes around one with “: ” or “#”.',
  'rule.too_long': 'This rule is too long.',
  'rule.form':
    'A rule is the name of a tool, or a tool with a pattern in parentheses: bash(git push *).',
  'rule.invisible': 'A rule must not contain invisible characters.',
  'rule.empty': 'The parentheses are empty. Leave them out for everything.',
  'rule.mcp': 'Rules for MCP tools have no parentheses.',
  'rule.no_tool': 'There is no tool “{tool}”.',
  'rule.no_pattern': 'A rule for {tool} has no parentheses.',
  'rule.domain': 'An address is written domain:example.org.',
  'rule.groups': 'A path may contain four groups in braces.',
  'rule.no_list': 'It is not a list of rules.',
  'mcp.unusable': 'The MCP server “{name}” cannot be used: {reason}',
  'mcp.still_starting':
    'The MCP server “{name}” is still starting and cannot be used for this answer.',
  'mcp.not_running': 'it is not running.',
  'mcp.no_command': 'It has neither a command nor a url.',
  'mcp.no_address': 'Its url is not an http address.',
  'mcp.no_program': 'The program “{command}” was not found.',
  'mcp.exited': 'it ended with exit code {code}',
  'mcp.killed': 'it was ended by {signal}',
  'mcp.ended_early': 'The server stopped before it answered: {reason}.',
  'mcp.timeout': 'The server did not answer within {seconds} seconds.',
  'mcp.gone': 'The server is gone: {reason}.',
  'mcp.closed': 'The server closed the connection.',
  'routing.no_mapping': 'provider_routing must be a mapping',
  'routing.unknown': 'provider_routing.{key} is not a setting',
  'routing.kind': 'provider_routing.{key} must be {kind}',
} as const

export type SentenceCode = keyof typeof SENTENCES

type Names<S> = S extends `${string}{${infer Name}}${infer Rest}` ? Name | Names<Rest> : never
type Values<C extends SentenceCode> = [Names<(typeof SENTENCES)[C]>] extends [never]
  ? []
  : [values: Readonly<Record<Names<(typeof SENTENCES)[C]>, Words | number>>]

/** As it is sent. `code`: one of these, or an error code. A value may be one of these objects, too. */
export type Coded = { code: string; values?: Readonly<Record<string, unknown>> | undefined }

/** In a text and in JSON it is English; `withCodes` adds the rest. */
export class Sentence {
  readonly text: string
  readonly coded: Coded

  constructor(text: string, coded: Coded) {
    this.text = text
    this.coded = coded
  }

  toString(): string {
    return this.text
  }

  toJSON(): string {
    return this.text
  }
}

/** A sentence of ours, or the words of another program. */
export type Words = string | Sentence

export const sentence = <const C extends SentenceCode>(
  code: C,
  ...[parameters]: Values<C>
): Sentence => {
  const values = Object.entries(parameters ?? {}).map(([name, value]) => [
    name,
    value instanceof Sentence ? value.coded : value,
  ])
  const filled = (parameters ?? {}) as Readonly<Record<string, Words | number>>
  const text = SENTENCES[code].replace(/\{(\w+)\}/g, (_, name: string) => `${filled[name]}`)
  return new Sentence(text, {
    code,
    ...(values.length > 0 && { values: Object.fromEntries(values) }),
  })
}

type Sent<T> = {
  [K in keyof T]: Sentence extends T[K] ? Exclude<T[K], Sentence> | string : T[K]
} & {
  sentences?: Record<string, Coded>
}

/** The object as it is sent: each sentence in English, and its code and values under the same name in `sentences`. */
export const withCodes = <const T extends object>(object: T): Sent<T> => {
  const entries = Object.entries(object)
  const sentences = entries.flatMap(([name, value]) =>
    value instanceof Sentence ? [[name, value.coded] as const] : [],
  )
  const texts = entries.map(([name, value]) => [
    name,
    value instanceof Sentence ? value.text : value,
  ])
  return {
    ...Object.fromEntries(texts),
    ...(sentences.length > 0 && { sentences: Object.fromEntries(sentences) }),
  }
}

const changed = (value: unknown, change: (text: string) => string): unknown => {
  if (typeof value === 'string') return change(value)
  if (Array.isArray(value)) return value.map(each => changed(each, change))
  if (!isObject(value)) return value
  const { code, values } = value as Coded
  return { code, ...(values && { values: changedValues(values, change) }) }
}

const changedValues = (values: object, change: (text: string) => string) =>
  Object.fromEntries(Object.entries(values).map(([name, value]) => [name, changed(value, change)]))

/** With a change of every text in it, such as hiding secrets. */
export const changeWords = (words: Words, change: (text: string) => string): Words =>
  words instanceof Sentence
    ? new Sentence(change(words.text), changed(words.coded, change) as Coded)
    : change(words)
