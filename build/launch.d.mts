export function createLoader(options: {
  startup?: { code: string }
  read(name: string): { code: string } | undefined
  packed?: unknown
  selfUrl: string
  selfDirectory: string
  require: NodeJS.Require
}): { load(name: string): Record<string, unknown> | undefined }
