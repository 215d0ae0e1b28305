package org.harnesslearning.proposer.report;

import org.harnesslearning.contracts.error.ErrorCode;
import org.harnesslearning.contracts.error.PlatformException;
import org.harnesslearning.proposer.run.RunDesk;
import org.harnesslearning.store.run.RunKind;
import org.harnesslearning.store.run.RunRow;
import org.springframework.http.MediaType;
import org.springframework.http.ResponseEntity;
import org.springframework.web.bind.annotation.GetMapping;
import org.springframework.web.bind.annotation.PathVariable;
import org.springframework.web.bind.annotation.RequestParam;
import org.springframework.web.bind.annotation.RestController;

/** {@code GET /adaptations/{id}/report}. */
@RestController
class ReportController {
    private static final MediaType MARKDOWN = MediaType.parseMediaType("text/markdown;charset=UTF-8");
    private static final MediaType XML = MediaType.parseMediaType("application/xml;charset=UTF-8");

    private final RunDesk desk;
    private final Reports reports;

    ReportController(RunDesk desk, Reports reports) {
        this.desk = desk;
        this.reports = reports;
    }

    @GetMapping("/adaptations/{id}/report")
    ResponseEntity<Object> report(
            @PathVariable("id") String id, @RequestParam(name = "format", defaultValue = "json") String format) {
        RunRow run = desk.get(RunKind.ADAPTATION, id);
        if (!run.state().terminal()) {
            throw new PlatformException(
                    ErrorCode.NOT_FINISHED, "The run is " + run.state().json() + "; its report comes with its end");
        }
        RunReport report = reports.of(run);
        return switch (format) {
            case "json" ->
                ResponseEntity.ok().contentType(MediaType.APPLICATION_JSON).body(report);
            case "markdown" -> ResponseEntity.ok().contentType(MARKDOWN).body(MarkdownReport.render(report));
            case "junit" -> ResponseEntity.ok().contentType(XML).body(JunitReport.render(report));
            default -> throw new PlatformException(ErrorCode.INVALID_FIELD, "format is none of json, markdown, junit");
        };
    }
}
