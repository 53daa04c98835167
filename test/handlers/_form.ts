/** Bodies of multipart forms. */

export const BOUNDARY = 'xXx-boundary'
export const FORM_TYPE = { 'Content-Type': `multipart/form-data; boundary=${BOUNDARY}` }

/** A part with a `filename`, or with a `header` that names it otherwise, is a file. */
export type Part = { name: string; filename?: string; header?: string; data: string | Buffer }

export const form = (...parts: readonly Part[]): Buffer =>
  Buffer.concat([
    ...parts.flatMap(({ name, filename, header, data }) => [
      Buffer.from(
        `--${BOUNDARY}\r\nContent-Disposition: form-data; name="${name}"${
          header ?? (filename === undefined ? '' : `; filename="${filename}"`)
        }\r\n\r\n`,
      ),
      Buffer.from(data),
      Buffer.from('\r\n'),
    ]),
    Buffer.from(`--${BOUNDARY}--\r\n`),
  ])
