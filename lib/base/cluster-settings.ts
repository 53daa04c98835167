/** Settings of the cluster (AGENT_WEBUI_CLUSTER_…): the database that keeps a copy of the state directory. */

export type ClusterSettings = Readonly<{
  /** postgres://user:<password>@host/database; null: the file has it. */
  url: string | null
  urlFile: string | null
  /** Of the state directory, the same on every machine that may serve it. */
  cell: string
  /** Seals what enters the database: the key itself, or the file that has it. Null: secrets are left out. */
  key: string | null
  keyFile: string | null
  /** How a forwarder reaches this service; null: the address it listens at. */
  address: string | null
}>

/** Each begins with AGENT_WEBUI_CLUSTER_. */
export const CLUSTER_VARIABLES = ['URL', 'URL_FILE', 'CELL', 'KEY', 'KEY_FILE', 'ADDRESS'] as const

const CELL = /^[0-9A-Za-z][0-9A-Za-z._@-]{0,127}$/
const MIN_KEY_CHARS = 32

export const isCellName = (text: string): boolean => CELL.test(text)

/** The trimmed key. Throws an Error with a sentence when it can be guessed. */
export const parseClusterKey = (text: string, name: string): string => {
  const key = text.trim()
  if (key.length >= MIN_KEY_CHARS) return key
  throw new Error(
    `${name} must have at least ${MIN_KEY_CHARS} characters; make one with: openssl rand -base64 32`,
  )
}

/** Throws an Error with a sentence unless it is the address of a database. */
export const parseDatabaseUrl = (text: string, name: string): string => {
  if (/^postgres(?:ql)?:\/\//.test(text) && URL.canParse(text)) return text
  throw new Error(
    `${name} must be the address of a PostgreSQL database, like postgres://user:<password>@host/database`,
  )
}

/** `get` returns the trimmed value of AGENT_WEBUI_CLUSTER_<name>, `path` resolves a variable; both are empty when it is not set. Throws an Error with a sentence. */
export const parseCluster = (
  get: (name: string) => string,
  path: (variable: string) => string,
): ClusterSettings | null => {
  const keyFile = path('AGENT_WEBUI_CLUSTER_KEY_FILE')
  const [url, urlFile] = [get('URL'), path('AGENT_WEBUI_CLUSTER_URL_FILE')]
  const [cell, key, address] = [get('CELL'), get('KEY'), get('ADDRESS')]
  if (url === '' && urlFile === '') {
    const other = Object.entries({ CELL: cell, KEY: key, KEY_FILE: keyFile, ADDRESS: address })
    const given = other.find(([, value]) => value !== '')
    if (given) throw new Error(`AGENT_WEBUI_CLUSTER_${given[0]} needs AGENT_WEBUI_CLUSTER_URL`)
    return null
  }
  if (url !== '' && urlFile !== '')
    throw new Error('AGENT_WEBUI_CLUSTER_URL and AGENT_WEBUI_CLUSTER_URL_FILE cannot both be set')
  if (key !== '' && keyFile !== '')
    throw new Error('AGENT_WEBUI_CLUSTER_KEY and AGENT_WEBUI_CLUSTER_KEY_FILE cannot both be set')
  if (cell !== '' && !isCellName(cell))
    throw new Error(
      `AGENT_WEBUI_CLUSTER_CELL must be a name of letters, digits, and . _ @ -, not "${cell}"`,
    )
  if (address !== '' && !/^https?:\/\/[^/?#]+\/?$/.test(address))
    throw new Error(
      `AGENT_WEBUI_CLUSTER_ADDRESS must be a URL like http://10.0.0.5:8787, not "${address}"`,
    )
  return Object.freeze({
    url: url === '' ? null : parseDatabaseUrl(url, 'AGENT_WEBUI_CLUSTER_URL'),
    urlFile: urlFile || null,
    cell: cell || 'default',
    key: key === '' ? null : parseClusterKey(key, 'AGENT_WEBUI_CLUSTER_KEY'),
    keyFile: keyFile || null,
    address: address === '' ? null : address.replace(/\/$/, ''),
  })
}
