export function createLoader(options: {
  read(name: string): { script: string; code: string } | undefined
  packed?: unknown
  selfUrl: string
  selfDirectory: string
  require: NodeJS.Require
}): (name: string) => Record<string, unknown> | undefined
