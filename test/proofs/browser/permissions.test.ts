/** Permission rules on the page: adding, a rejected rule, editing, removing with the keyboard, and trying one out. */
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { startApp } from '../../_app.ts'
import { openPage } from '../../_browser.ts'

const permissions = suite('permission rules on the page')

permissions('rules are added, corrected, tried out, and removed', async () => {
  const app = await startApp()
  const config = join(app.home, 'config.yaml')
  writeFileSync(config, '# mine\npermissions:\n  deny:\n    - bsh(rm *)\n')
  const at = await openPage(`${app.url}/settings/permissions`)
  try {
    const { page } = at
    const never = page.getByRole('region', { name: 'Never' })
    await never.getByText('This isn’t a rule').waitFor()
    await never.getByRole('button', { name: 'Edit bsh(rm *)' }).click()
    const field = never.getByRole('textbox', { name: 'Edit bsh(rm *)' })
    await field.fill('bash(rm *)')
    await field.press('Enter')
    await never.getByRole('button', { name: 'Edit bash(rm *)' }).waitFor()
    const fresh = never.getByRole('textbox', { name: 'New rule: never' })
    await fresh.fill('rm *')
    await fresh.press('Enter')
    await never.getByRole('alert').filter({ hasText: 'name of a tool' }).waitFor()
    await fresh.fill('Read(~/.ssh/**)')
    await fresh.press('Enter')
    await never.getByText('Read(~/.ssh/**)').waitFor()
    const tried = page.getByRole('region', { name: 'Try it' })
    await tried.getByRole('textbox').fill('sudo rm -rf build')
    await tried.getByRole('button', { name: 'Check' }).click()
    await tried.getByText('Refused by bash(rm *).').waitFor()
    assert.equal(await at.axe(), [])
    await never.getByRole('button', { name: 'Remove bash(rm *)' }).press('Enter')
    await page.getByRole('button', { name: 'Remove', exact: true }).last().press('Enter')
    await never.getByText('bash(rm *)').waitFor({ state: 'detached' })
    assert.is(readFileSync(config, 'utf8').includes('bash(rm *)'), false)
    assert.match(readFileSync(config, 'utf8'), /# mine/)
    // The rejected rule.
    assert.equal(
      at.problems.filter(each => !each.includes('400')),
      [],
    )
  } finally {
    await at.close()
    await app.close()
  }
})

permissions(
  'where commands run: the sandbox is switched on, and off after a confirmation',
  async () => {
    const app = await startApp()
    const config = join(app.home, 'config.yaml')
    writeFileSync(config, '# mine\nsandbox:\n  enabled: true\n  network: [registry.npmjs.org]\n')
    const at = await openPage(`${app.url}/settings/permissions`)
    const { page } = at
    const text = () => readFileSync(config, 'utf8')
    const saved = () => page.waitForResponse(each => each.request().method() === 'POST')
    try {
      const place = page.getByRole('region', { name: 'Where commands run' })
      const sandbox = place.getByRole('combobox', { name: 'Sandbox', exact: true })
      const network = place.getByRole('switch', { name: 'Network in the sandbox' })
      const dialog = page.getByRole('dialog')
      await place.getByText('Without asking: registry.npmjs.org').waitFor()
      await network.click()
      await dialog.getByText('registry.npmjs.org').waitFor()
      await dialog.getByRole('button', { name: 'Cancel' }).click()
      assert.not(await network.isChecked())
      assert.match(text(), /registry/)
      await network.click()
      await Promise.all([saved(), dialog.getByRole('button', { name: 'Replace the list' }).click()])
      await place.getByText('Every command has the network').waitFor()
      assert.match(text(), /# mine[\s\S]*network: true/)
      assert.ok(await network.isChecked())

      await sandbox.selectOption('off')
      await Promise.all([saved(), dialog.getByRole('button', { name: 'Turn off' }).click()])
      await place.getByText('Directly on this computer').waitFor()
      assert.is(await network.count(), 0)
      assert.match(text(), /enabled: false/)
      assert.equal(await at.axe(), [])
      assert.equal(at.problems, [])
    } finally {
      await at.close()
      await app.close()
    }
  },
)

permissions.run()
