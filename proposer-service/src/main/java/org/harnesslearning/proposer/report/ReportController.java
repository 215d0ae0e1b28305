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

/** {@code GET /adaptations/{id}/report} and {@code GET /evaluations/{id}/report}. */
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
    ResponseEntity<Object> adaptation(
            @PathVariable("id") String id, @RequestParam(name = "format", defaultValue = "json") String format) {
        RunReport report = reports.of(finished(RunKind.ADAPTATION, id));
        return switch (format) {
            case "json" -> json(report);
            case "markdown" -> text(MARKDOWN, MarkdownReport.render(report));
            case "junit" -> text(XML, JunitReport.render(report));
            default -> throw unknown();
        };
    }

    @GetMapping("/evaluations/{id}/report")
    ResponseEntity<Object> evaluation(
            @PathVariable("id") String id, @RequestParam(name = "format", defaultValue = "json") String format) {
        EvaluationReport report = reports.ofEvaluation(finished(RunKind.EVALUATION, id));
        return switch (format) {
            case "json" -> json(report);
            case "markdown" -> text(MARKDOWN, MarkdownReport.render(report));
            case "junit" -> text(XML, JunitReport.render(report));
            default -> throw unknown();
        };
    }

    private RunRow finished(RunKind kind, String id) {
        RunRow run = desk.get(kind, id);
        if (!run.state().terminal()) {
            throw new PlatformException(
                    ErrorCode.NOT_FINISHED, "The run is " + run.state().json() + "; its report comes with its end");
        }
        return run;
    }

    private static ResponseEntity<Object> json(Object report) {
        return ResponseEntity.ok().contentType(MediaType.APPLICATION_JSON).body(report);
    }

    private static ResponseEntity<Object> text(MediaType type, String report) {
        return ResponseEntity.ok().contentType(type).body(report);
    }

    private static PlatformException unknown() {
        return new PlatformException(ErrorCode.INVALID_FIELD, "format is none of json, markdown, junit");
    }
}
