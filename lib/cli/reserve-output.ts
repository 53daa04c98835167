/** Keeps standard output for the messages of a protocol: one other line would break the connection. */
import { Writable } from 'node:stream'

/** From now on, `console.log` and every other writer to standard output write to standard error. */
export const reserveOutput = (): Writable => {
  const { stdout, stderr } = process
  const write = stdout.write.bind(stdout)
  stdout.write = stderr.write.bind(stderr)
  const output = new Writable({
    // Resolves when the pipe can take more, so that a client that reads slowly is not flooded.
    write: (chunk: Buffer, _encoding, done) => void write(chunk, done),
  })
  // A client that is gone; the reader notices as well.
  stdout.on('error', error => output.destroy(error))
  output.on('error', () => undefined)
  return output
}
