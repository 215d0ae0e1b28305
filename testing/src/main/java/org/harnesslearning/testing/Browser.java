package org.harnesslearning.testing;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.net.URI;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Base64;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.logging.Level;
import org.openqa.selenium.By;
import org.openqa.selenium.WebElement;
import org.openqa.selenium.chrome.ChromeDriver;
import org.openqa.selenium.chrome.ChromeDriverService;
import org.openqa.selenium.chrome.ChromeOptions;
import org.openqa.selenium.logging.LogEntry;
import org.openqa.selenium.logging.LogType;
import org.openqa.selenium.logging.LoggingPreferences;
import org.openqa.selenium.support.ui.WebDriverWait;

/**
 * A real Chromium without a window. What its console complains of is kept. Whoever uses it has selenium among the
 * dependencies; in this module they are optional.
 */
public final class Browser implements AutoCloseable {
    private static final Duration PATIENCE = Duration.ofSeconds(20);

    private final URI base;
    private final ChromeDriver driver;
    private final String axe;

    public Browser(URI base) {
        this.base = base;
        ChromeOptions options = new ChromeOptions();
        options.setBinary(program("chromium").toFile());
        options.addArguments(
                "--headless=new",
                // Containers of builds run as root and have a small /dev/shm.
                "--no-sandbox",
                "--disable-dev-shm-usage",
                "--disable-gpu",
                "--hide-scrollbars",
                "--force-color-profile=srgb",
                "--disable-background-networking",
                "--no-first-run");
        LoggingPreferences logs = new LoggingPreferences();
        logs.enable(LogType.BROWSER, Level.ALL);
        options.setCapability("goog:loggingPrefs", logs);
        driver = new ChromeDriver(
                new ChromeDriverService.Builder()
                        .usingDriverExecutable(program("chromedriver").toFile())
                        .usingAnyFreePort()
                        .build(),
                options);
        try (InputStream in = Objects.requireNonNull(Browser.class.getResourceAsStream("/axe.min.js"), "axe.min.js")) {
            axe = new String(in.readAllBytes(), StandardCharsets.UTF_8);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    private static Path program(String name) {
        return SharedData.program(name).orElseThrow(() -> new IllegalStateException("no " + name + " on the path"));
    }

    public void open(String path) {
        driver.get(base.resolve(path).toString());
    }

    /** Signs in on the sign-in page. */
    public void signIn(String key) {
        open("/ui/sign-in");
        find("input[name=key]").sendKeys(key);
        find("button.primary").click();
        until("h1", "Overview");
    }

    /** Drops what the browser remembers. */
    public void forget() {
        driver.manage().deleteAllCookies();
    }

    public WebElement find(String selector) {
        return new WebDriverWait(driver, PATIENCE).until(any -> {
            List<WebElement> found = driver.findElements(By.cssSelector(selector));
            return found.isEmpty() ? null : found.getFirst();
        });
    }

    public boolean has(String selector) {
        return !driver.findElements(By.cssSelector(selector)).isEmpty();
    }

    public String text(String selector) {
        return find(selector).getText();
    }

    /** Waits until the text of an element, which may come and go, contains something. */
    public void until(String selector, String content) {
        new WebDriverWait(driver, PATIENCE)
                .withMessage(() -> selector + " should say '" + content + "' on " + driver.getCurrentUrl() + ":\n"
                        + driver.findElement(By.tagName("body")).getText())
                .until(any -> Boolean.TRUE.equals(driver.executeScript(
                        "return Array.from(document.querySelectorAll(arguments[0])).some(e => e.textContent.includes(arguments[1]))",
                        selector,
                        content)));
    }

    /** Clicks a button of that text, and says yes where it asks. */
    public void press(String label) {
        new WebDriverWait(driver, PATIENCE)
                .ignoring(org.openqa.selenium.StaleElementReferenceException.class)
                .until(any -> {
                    for (WebElement button : driver.findElements(By.cssSelector("button, a.button"))) {
                        if (button.getText().equals(label)) {
                            button.click();
                            return true;
                        }
                    }
                    return false;
                });
    }

    public void confirm() {
        new WebDriverWait(driver, PATIENCE).until(any -> {
            try {
                driver.switchTo().alert().accept();
                return true;
            } catch (org.openqa.selenium.NoAlertPresentException e) {
                return false;
            }
        });
    }

    public String url() {
        return Objects.requireNonNull(driver.getCurrentUrl());
    }

    public String title() {
        return Objects.requireNonNull(driver.getTitle());
    }

    /** Makes the page think that the system prefers dark or light colours. */
    public void colours(boolean dark) {
        driver.executeCdpCommand(
                "Emulation.setEmulatedMedia",
                Map.of(
                        "media",
                        "screen",
                        "features",
                        List.of(
                                Map.of("name", "prefers-color-scheme", "value", dark ? "dark" : "light"),
                                Map.of("name", "prefers-reduced-motion", "value", "reduce"))));
    }

    public void size(int width, int height, boolean phone) {
        driver.executeCdpCommand(
                "Emulation.setDeviceMetricsOverride",
                Map.of("width", width, "height", height, "deviceScaleFactor", 1, "mobile", phone));
    }

    /** Pixels by which the page is wider than the screen. */
    public long overhang() {
        return ((Number)
                        Objects.requireNonNull(
                                driver.executeScript(
                                        "return Math.max(document.documentElement.scrollWidth, document.body.scrollWidth) - window.innerWidth")))
                .longValue();
    }

    /** Serious and critical findings of axe-core, one a line with the elements they are about. */
    public String findings() {
        driver.executeScript(axe);
        Object found = driver.executeAsyncScript("""
                const done = arguments[arguments.length - 1];
                axe.run(document, {resultTypes: ['violations']}).then(
                    result => done(result.violations.filter(v => ['serious', 'critical'].includes(v.impact))
                        .map(v => v.id + ': ' + v.nodes.map(n => n.target.join(' ') + ' ' + (n.any[0] ? n.any[0].message : '')).join(' | ')).join('\\n')),
                    error => done('axe failed: ' + error));""");
        return String.valueOf(found);
    }

    /** What the console complained of since the last look; refused requests of the API's own statuses left out. */
    public List<String> complaints() {
        return driver.manage().logs().get(LogType.BROWSER).getAll().stream()
                .filter(entry -> entry.getLevel().intValue() >= Level.WARNING.intValue())
                .map(LogEntry::getMessage)
                .filter(message -> !message.contains("Failed to load resource: the server responded with a status of"))
                .toList();
    }

    /** A picture of the whole page. */
    public void picture(Path file, int width) throws IOException {
        size(width, 900, width < 500);
        Object height = driver.executeScript("return Math.min(2400, document.documentElement.scrollHeight)");
        size(width, ((Number) Objects.requireNonNull(height)).intValue(), width < 500);
        // Two frames: charts are drawn anew when the size has changed.
        driver.executeAsyncScript(
                "const done = arguments[0]; requestAnimationFrame(() => requestAnimationFrame(() => done()));");
        Object data = driver.executeCdpCommand("Page.captureScreenshot", Map.of("format", "png"))
                .get("data");
        Files.createDirectories(file.getParent());
        Files.write(file, Base64.getDecoder().decode(String.valueOf(data)));
        assertThat(Files.size(file)).isGreaterThan(5_000);
    }

    @Override
    public void close() {
        driver.quit();
    }
}
