/** Inspects code in other languages than shell: the commands it runs, and the paths and addresses it names. */
import { blockedInCode, namesInParts, removedPaths, runsComputedText, textsIn } from './code.ts'
import type { Findings } from './findings.ts'
import { CODE_FLAG, CONTROL, OWN_ADDRESS, SHELL_FLAG } from './labels.ts'
import { reachesUs } from './network.ts'
import { absolute, controlIn, isSecret, kindOf } from './paths.ts'
import type { Shell } from './state.ts'

/** Adds the findings of code in another language than shell. `isInline`: it is an argument or the input of its interpreter. */
export const inspectCode = (
  source: string,
  shell: Shell,
  findings: Findings,
  isInline: boolean,
): void => {
  const { context } = shell
  if (isInline) findings.add(CODE_FLAG)
  const reason = blockedInCode(source)
  if (reason !== undefined) findings.add(CODE_FLAG, { blocked: reason })
  if (runsComputedText(source)) findings.addUnclear()
  for (const { text: literal, isRun } of textsIn(source)) {
    if (!isRun && !/\s/.test(literal.trim())) {
      if (isInline || literal.includes('/')) inspectLiteral(literal, shell, findings)
      continue
    }
    const found = findings.collect(() => {
      if (literal.length < 20_000) shell.run(literal.replace(/\\(["'])/g, '$1'))
    })
    // Words that aren't run prove too little: "reboot when done" is a sentence.
    const deadly = found.filter(
      ({ blocked: why }) => why !== undefined && (isRun || why !== 'shutting the machine down'),
    )
    findings.addAll(deadly)
    if (isRun)
      findings.addAll(
        found.filter(
          each =>
            !each.isUnclear &&
            each.blocked === undefined &&
            each.label !== SHELL_FLAG &&
            (isInline || each.label !== CODE_FLAG),
        ),
      )
  }
  for (const path of removedPaths(source)) {
    const kind = kindOf(path, shell.cwd, context)
    if (kind !== 'workspace' && kind !== 'temporary') findings.add('delete outside the workspace')
  }
  if (
    context.ownAddresses?.length &&
    reachesUs(source, context.ownAddresses) &&
    /localhost|127\.\d|0\.0\.0\.0|::1|gethostname|AGENT_|HERMES_/.test(source)
  )
    findings.add(OWN_ADDRESS, { isControl: true })
  if (
    namesInParts(
      textsIn(source).map(({ text: literal }) => literal),
      context,
    )
  )
    findings.add(CONTROL, { isControl: true })
  if (context.controlPaths?.length && /\b(?:AGENT_HOME|AGENT_WEBUI_\w+|HERMES_HOME)\b/.test(source))
    findings.add(CONTROL, { isControl: true })
}

/** A script literal that names a protected path. */
const inspectLiteral = (literal: string, shell: Shell, findings: Findings): void => {
  const { context } = shell
  if (literal.length > 500) return
  if (
    controlIn(literal, shell.cwd, context) !== undefined ||
    context.controlPaths?.some(
      path =>
        literal.length > 5 &&
        path.endsWith(`/${literal.replace(/^[~.]?\//, '')}`) &&
        literal.includes('/'),
    )
  )
    findings.add(CONTROL, { isControl: true })
  const full = absolute(literal, shell.cwd, context)
  if (full !== null && literal.includes('/') && isSecret(full, context))
    findings.add('credential file read')
}
